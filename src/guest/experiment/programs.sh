# SPDX-License-Identifier: GPL-2.0-only
#
# Real programs, run below a root folder of Debian's packages: `sh -c THIS sh WHAT`. Each is some
# tens of millions of instructions. "set-up" makes what they read, and starts the database server.
set -e
export LC_ALL=C
cd /tmp
case $1 in
set-up)
	: >source.c
	i=0
	while [ $i -lt 1200 ]; do
		echo "static int table$i[8] = { $i, 1, 2, 3 };
int f$i(int a, int b) { int s = 0; for (int k = 0; k < a; k++) { s += (b ^ k) * table$i[k & 7]; if (s > 1000) s -= a; } return s; }"
		i=$((i + 1))
	done >source.c
	i=0
	echo 'begin; create table t (id integer primary key, name text, value integer);' >rows.sql
	while [ $i -lt 600 ]; do
		echo "insert into t (name, value) values ('name $((i * 7919 % 601))', $((i * 31 % 97)));"
		i=$((i + 1))
	done >>rows.sql
	echo 'commit; create index by_name on t (name);
select value, count(*), max(name) from t group by value order by 2, 1 limit 3;
select sum(a.value * b.value) from t a join t b on b.name = a.name;' >>rows.sql
	head -c 600000 /usr/lib/x86_64-linux-gnu/libc.so.6 >data
	mkdir -p tree
	for a in 0 1 2 3 4 5; do
		for b in 0 1 2 3 4 5; do
			mkdir -p tree/$a/$b
			for c in 0 1 2; do echo $a$b$c >tree/$a/$b/$c; done
		done
	done
	redis-server --save '' --appendonly no --bind 127.0.0.1 --daemonize yes --io-threads 1 >redis.log
	tries=0
	until redis-cli ping >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || exit 1
		sleep 0.1
	done
	;;
compiler) tcc -c source.c -o source.o ;;
sqlite)
	rm -f base.db
	sqlite3 base.db <rows.sql >base.out
	;;
redis) exec redis-benchmark -n 400 -c 4 -t set,get --csv ;;
pipeline) dd if=data bs=16k 2>dd.log | gzip -1 | sha256sum >pipeline.out ;;
python)
	exec python3 -S -c 'words = [str(n * 7919 % 3001) for n in range(3000)]
counts = {}
for word in words:
    for letter in word:
        counts[letter] = counts.get(letter, 0) + 1
print(sorted(counts.items())[0], sum(len(w) for w in sorted(words)))' >python.out
	;;
tree)
	walk() {
		for entry in "$1"/*; do
			if [ -d "$entry" ]; then walk "$entry"; else files=$((files + 1)); fi
		done
		ls "$1" >>tree.out
	}
	files=0
	: >tree.out
	walk tree
	[ $files -eq 108 ]
	;;
*) exit 64 ;;
esac
