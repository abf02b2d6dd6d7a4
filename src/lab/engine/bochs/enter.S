/* SPDX-License-Identifier: GPL-2.0-only
 *
 * From the kernel's real-mode code, which enters it in 32-bit mode as it would the code that
 * unpacks a kernel, to the entry of a kernel that is unpacked already: 64-bit mode, the first
 * 4 GiB mapped where they are, and rsi as it came, at the boot parameters (the kernel's
 * Documentation/arch/x86/boot.rst, "64-bit BOOT PROTOCOL"). The host has put the page tables
 * after this page and the entry's address into it (vmlinux.rs).
 *
 * Addresses are written as differences from _start, so that the assembler's output is the code
 * itself.
 */
	.code32
	.globl	_start

	/* As in disk.rs and vmlinux.rs. */
	.equ	HERE, 0x100000
	.equ	TABLES, HERE + 0x1000
	.equ	ENTRY, 248
	.equ	LENGTH, 256

	.equ	CR0_PE_PG, 0x80000001
	.equ	CR4_PAE, 0x20
	.equ	MSR_EFER, 0xc0000080
	.equ	EFER_LME, 0x100
	.equ	BOOT_CS, 0x10
	.equ	BOOT_DS, 0x18

_start:
	cli
	movl	%cr4, %eax
	orl	$CR4_PAE, %eax
	movl	%eax, %cr4
	movl	$TABLES, %eax
	movl	%eax, %cr3
	movl	$MSR_EFER, %ecx
	rdmsr
	orl	$EFER_LME, %eax
	wrmsr
	lgdt	HERE + (descriptor - _start)
	movl	%cr0, %eax
	orl	$CR0_PE_PG, %eax
	movl	%eax, %cr0
	ljmp	$BOOT_CS, $(HERE + (1f - _start))

	.code64
1:	movl	$BOOT_DS, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %fs
	movl	%eax, %gs
	movl	%eax, %ss
	movl	%esi, %esi			/* its upper half is not defined yet */
	movl	$(HERE + (entry - _start)), %eax
	jmp	*(%rax)

	.balign	8
	/* A 64-bit code segment and a flat data segment, where the protocol wants them. */
table:	.quad	0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff
descriptor:
	.word	descriptor - table - 1
	.long	HERE + (table - _start)

	.org	_start + ENTRY, 0
entry:	.quad	0
	.org	_start + LENGTH, 0
