# SPDX-License-Identifier: GPL-2.0-only
# Late wakeups on this kernel: what is written and printed of them. Loading the recorder is what takes
# the time, so it is done once.
script='for i in 1 2 3 4 5; do usleep 10000; done; exit 7'
expect 7 artis explain run --worst 5 --json late.json --perfetto late.pftrace --svg . -- \
    sh -c "$script" >printed
artis explain show late.json >shown || die 'artis explain show failed'
cmp printed shown || die 'shown otherwise than it was printed'
