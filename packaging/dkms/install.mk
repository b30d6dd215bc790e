# SPDX-License-Identifier: GPL-2.0-only
# Installs the content of the module's package, except the kernel patches, into DESTDIR:
#   make -f packaging/dkms/install.mk DESTDIR=DIR VERSION=0.2-1, the version of the package
from := $(dir $(lastword $(MAKEFILE_LIST)))
source = $(DESTDIR)/usr/src/btrfs-fastpath-$(VERSION)
libexec = $(DESTDIR)/usr/libexec/btrfs-fastpath
initramfs = $(DESTDIR)/usr/share/initramfs-tools
with_version = sed 's/@VERSION@/$(VERSION)/g'

install:
	test -n '$(VERSION)'
	install -d $(source) $(libexec) $(DESTDIR)/usr/share/btrfs-fastpath $(initramfs)/hooks $(initramfs)/scripts/init-top
	install -d $(addprefix $(DESTDIR)/etc/kernel/,header_postinst.d postinst.d prerm.d)
	$(with_version) $(from)dkms.conf.in >$(source)/dkms.conf
	install -m 755 $(from)build-module $(source)
	$(with_version) $(from)module.bash >$(DESTDIR)/usr/share/btrfs-fastpath/module.bash
	$(with_version) $(from)module >$(libexec)/module
	install -m 755 $(from)initramfs-hook $(initramfs)/hooks/btrfs-fastpath
	install -m 755 $(from)initramfs-script $(initramfs)/scripts/init-top/btrfs-fastpath
	install -m 755 $(from)kernel-hook $(DESTDIR)/etc/kernel/postinst.d/btrfs-fastpath
	install -m 755 $(from)kernel-hook $(DESTDIR)/etc/kernel/header_postinst.d/btrfs-fastpath
	install -m 755 $(from)kernel-prerm-hook $(DESTDIR)/etc/kernel/prerm.d/btrfs-fastpath
	chmod 755 $(libexec)/module
	chmod 644 $(source)/dkms.conf $(DESTDIR)/usr/share/btrfs-fastpath/module.bash
.PHONY: install
