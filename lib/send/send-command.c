// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "send/send-command.h"

static const char *const names[SEND_COMMAND_COUNT] = {
	[SEND_SUBVOL] = "subvol",
	[SEND_SNAPSHOT] = "snapshot",
	[SEND_MKFILE] = "mkfile",
	[SEND_MKDIR] = "mkdir",
	[SEND_MKNOD] = "mknod",
	[SEND_MKFIFO] = "mkfifo",
	[SEND_MKSOCK] = "mksock",
	[SEND_SYMLINK] = "symlink",
	[SEND_RENAME] = "rename",
	[SEND_LINK] = "link",
	[SEND_UNLINK] = "unlink",
	[SEND_RMDIR] = "rmdir",
	[SEND_SET_XATTR] = "set_xattr",
	[SEND_REMOVE_XATTR] = "remove_xattr",
	[SEND_WRITE] = "write",
	[SEND_CLONE] = "clone",
	[SEND_TRUNCATE] = "truncate",
	[SEND_CHMOD] = "chmod",
	[SEND_CHOWN] = "chown",
	[SEND_UTIMES] = "utimes",
	[SEND_END] = "end",
	[SEND_UPDATE_EXTENT] = "update_extent",
	[SEND_FALLOCATE] = "fallocate",
	[SEND_FILEATTR] = "fileattr",
	[SEND_ENCODED_WRITE] = "encoded_write",
	[SEND_ENABLE_VERITY] = "enable_verity",
};

const char *send_command_name(enum send_command_type type)
{
	return names[type];
}

enum send_command_type send_protocol_last_command(unsigned int protocol)
{
	return protocol == 1 ? SEND_UPDATE_EXTENT :
	       protocol == 2 ? SEND_ENCODED_WRITE :
			       SEND_ENABLE_VERITY;
}

enum send_attribute send_protocol_last_attribute(unsigned int protocol)
{
	return protocol == 1 ? SEND_A_CLONE_LEN :
	       protocol == 2 ? SEND_A_ENCRYPTION :
			       SEND_A_VERITY_SIG_DATA;
}
