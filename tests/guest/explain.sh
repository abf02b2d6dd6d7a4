# SPDX-License-Identifier: GPL-2.0-only
# Late wakeups on this kernel: what is written and printed of them.
artis demo inversion --rounds 2 >inversion || die 'artis demo inversion failed'
script='for i in 1 2 3 4 5; do usleep 10000; done; exit 7'
expect 7 artis explain run --worst 5 --json late.json --perfetto late.pftrace --svg . -- \
    sh -c "$script" >printed
artis explain show late.json >shown || die 'artis explain show failed'
cmp printed shown || die 'shown otherwise than it was printed'
expect 2 artis explain run --until 0 --quiet -- usleep 1000 >/dev/null
# Nothing stays attached.
no_programs() {
    ! grep -qs '^prog_id' /proc/[0-9]*/fdinfo/*
}
until_ok no_programs
