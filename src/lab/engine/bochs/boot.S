/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The first sector of the disk that Bochs boots: loads the kernel and the initramfs from the
 * sectors after it to where the 16-bit boot protocol wants them (the kernel's
 * Documentation/arch/x86/boot.rst) and enters the kernel's real-mode code. The host has filled in
 * the kernel's header and the list of pieces (disk.rs); nothing is decided here.
 *
 * Two BIOS calls do the work: "extended read" (int 13h, ah = 42h) of one chunk to a buffer below
 * 1 MiB, and "move extended block" (int 15h, ah = 87h) from there to where it belongs. Addresses
 * are written as differences from _start, so that the assembler's output is the sector itself.
 */
	.code16
	.globl	_start

	/* As in disk.rs. */
	.equ	CHUNK_SECTORS, 64
	.equ	CHUNK_BYTES, CHUNK_SECTORS * 512
	.equ	SETUP_SEGMENT, 0x1000
	.equ	PIECES, 480
	.equ	PIECE_BYTES, 6
	/* Where the BIOS puts this sector, and free memory above it. */
	.equ	HERE_SEGMENT, 0x7c0
	.equ	BUFFER, 0x30000
	.equ	SETUP_STACK, 0xe000

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
	movw	$PIECES, %di

next_piece:
	movw	4(%di), %cx			/* chunks; 0 ends the list */
	jcxz	enter_kernel
	movl	(%di), %eax			/* where the piece belongs */
	movl	%eax, target - _start
next_chunk:
	pushw	%cx
	pushw	%di
	movb	$0x42, %ah
	movb	drive - _start, %dl
	movw	$(packet - _start), %si
	int	$0x13
	jc	failed
	addl	$CHUNK_SECTORS, sector - _start

	movl	target - _start, %eax
	movw	%ax, move_base - _start		/* a descriptor keeps bits 0 to 23 of the base here, */
	shrl	$16, %eax
	movb	%al, move_base - _start + 2
	movb	%ah, move_base - _start + 5	/* and bits 24 to 31 there */
	movw	$(CHUNK_BYTES / 2), %cx		/* in words */
	movw	$(descriptors - _start), %si
	movb	$0x87, %ah
	int	$0x15
	jc	failed
	addl	$CHUNK_BYTES, target - _start
	popw	%di
	popw	%cx
	loop	next_chunk
	addw	$PIECE_BYTES, %di
	jmp	next_piece

enter_kernel:
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
	.word	CHUNK_SECTORS
	.word	0, BUFFER >> 4
sector:	.long	1, 0				/* after this one */
target:	.long	0
	/* The descriptor table of the move: two empty, source, target, two for the BIOS itself. */
descriptors:
	.fill	16, 1, 0
	.word	CHUNK_BYTES - 1, BUFFER & 0xffff
	.byte	BUFFER >> 16, 0x93
	.word	0
	.word	CHUNK_BYTES - 1
move_base:
	.word	0
	.byte	0, 0x93
	.word	0
	.fill	16, 1, 0

	/* The host fills this in: a 32-bit address and a 16-bit number of chunks for each piece. */
	.org	_start + PIECES, 0
	.fill	5 * PIECE_BYTES, 1, 0
	.org	_start + 510, 0
	.word	0xaa55
