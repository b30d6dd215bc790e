/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FASTPATH_SEND_COMMAND_H
#define FASTPATH_SEND_COMMAND_H

/* The newest protocol of send streams that is known here. */
#define SEND_PROTOCOL_MAX 3

/* The commands of a send stream. <btrfs/send.h> knows those of protocol 1 alone. */
enum send_command_type {
	SEND_SUBVOL = 1,
	SEND_SNAPSHOT,
	SEND_MKFILE,
	SEND_MKDIR,
	SEND_MKNOD,
	SEND_MKFIFO,
	SEND_MKSOCK,
	SEND_SYMLINK,
	SEND_RENAME,
	SEND_LINK,
	SEND_UNLINK,
	SEND_RMDIR,
	SEND_SET_XATTR,
	SEND_REMOVE_XATTR,
	SEND_WRITE,
	SEND_CLONE,
	SEND_TRUNCATE,
	SEND_CHMOD,
	SEND_CHOWN,
	SEND_UTIMES,
	SEND_END,
	SEND_UPDATE_EXTENT,
	/* protocol 2 */
	SEND_FALLOCATE,
	SEND_FILEATTR,
	SEND_ENCODED_WRITE,
	/* protocol 3 */
	SEND_ENABLE_VERITY,
	SEND_COMMAND_COUNT,
};

/* What commands consist of. */
enum send_attribute {
	SEND_A_UUID = 1,
	SEND_A_CTRANSID,
	SEND_A_INO,
	SEND_A_SIZE,
	SEND_A_MODE,
	SEND_A_UID,
	SEND_A_GID,
	SEND_A_RDEV,
	SEND_A_CTIME,
	SEND_A_MTIME,
	SEND_A_ATIME,
	SEND_A_OTIME,
	SEND_A_XATTR_NAME,
	SEND_A_XATTR_DATA,
	SEND_A_PATH,
	SEND_A_PATH_TO,
	SEND_A_PATH_LINK,
	SEND_A_FILE_OFFSET,
	SEND_A_DATA,
	SEND_A_CLONE_UUID,
	SEND_A_CLONE_CTRANSID,
	SEND_A_CLONE_PATH,
	SEND_A_CLONE_OFFSET,
	SEND_A_CLONE_LEN,
	/* protocol 2 */
	SEND_A_FALLOCATE_MODE,
	SEND_A_FILEATTR,
	SEND_A_UNENCODED_FILE_LEN,
	SEND_A_UNENCODED_LEN,
	SEND_A_UNENCODED_OFFSET,
	SEND_A_COMPRESSION,
	SEND_A_ENCRYPTION,
	/* protocol 3 */
	SEND_A_VERITY_ALGORITHM,
	SEND_A_VERITY_BLOCK_SIZE,
	SEND_A_VERITY_SALT_DATA,
	SEND_A_VERITY_SIG_DATA,
	SEND_ATTRIBUTE_COUNT,
};

/* The command's name as "btrfs receive --dump" prints it. TYPE must be one of the above. */
const char *send_command_name(enum send_command_type type);

/* The last command and the last attribute of a protocol from 1 to SEND_PROTOCOL_MAX. */
enum send_command_type send_protocol_last_command(unsigned int protocol);
enum send_attribute send_protocol_last_attribute(unsigned int protocol);

#endif
