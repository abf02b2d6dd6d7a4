/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The first sector of the disk that Bochs boots: loads the kernel's real-mode code from the
 * sectors after it to where the 16-bit boot protocol wants it (the kernel's
 * Documentation/arch/x86/boot.rst), and enters it. The host has filled in the kernel's header
 * (disk.rs), and has put everything else into the memory before the machine started (memory.rs);
 * nothing is decided here.
 *
 * Addresses are written as differences from _start, so that the assembler's output is the sector
 * itself.
 */
	.code16
	.globl	_start

	/* As in disk.rs: the segment of the real-mode code, in two halves, and its stack. */
	.equ	HALF_SECTORS, 64
	.equ	HALVES, 2
	.equ	SETUP_SEGMENT, 0x1000
	.equ	SETUP_STACK, 0xe000
	/* Where the BIOS puts this sector. */
	.equ	HERE_SEGMENT, 0x7c0

_start:
	cli
	cld
	movw	$HERE_SEGMENT, %ax
	movw	%ax, %ds
	movw	%ax, %es
	xorw	%ax, %ax
	movw	%ax, %ss
	movw	$0x7c00, %sp
	ljmp	$HERE_SEGMENT, $(1f - _start)
1:	sti
	movb	%dl, drive - _start		/* the BIOS says which disk it booted */
	movw	$HALVES, %cx
next_half:
	pushw	%cx
	movb	$0x42, %ah			/* int 13h: extended read */
	movb	drive - _start, %dl
	movw	$(packet - _start), %si
	int	$0x13
	jc	failed
	addw	$(HALF_SECTORS * 512 / 16), segment - _start
	addl	$HALF_SECTORS, sector - _start
	popw	%cx
	loop	next_half

	cli
	movw	$SETUP_SEGMENT, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %fs
	movw	%ax, %gs
	movw	%ax, %ss
	movw	$SETUP_STACK, %sp
	ljmp	$(SETUP_SEGMENT + 0x20), $0	/* the boot protocol's entry: 512 bytes in */

	/* There is no way to report it: the host sees that the kernel prints nothing. */
failed:
	cli
	hlt
	jmp	failed

drive:	.byte	0
	.balign	4
	/* The disk address packet of the extended read. */
packet:	.byte	16, 0
	.word	HALF_SECTORS
	.word	0				/* the buffer: offset, */
segment:
	.word	SETUP_SEGMENT			/* segment */
sector:	.long	1, 0				/* after this one */

	.org	_start + 510, 0
	.word	0xaa55
