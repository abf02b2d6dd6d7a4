# Test started on: Fri Jan 24 15:36:34 2025
# DEGRADED MODE DETECTED - FIGURES MAY BE IRRELEVANT
# Linux version 6.6.30-evl (builder@host) (gcc 13) #1 SMP PREEMPT IRQPIPE
# console=ttyS0 isolcpus=1 evl.oobcpus=1
# libevl version: evl.0.50
# sampling period: 1000 microseconds
# clock gravity: 0i 0k 500u
# clocksource: tsc
# vDSO access: architected
# context: user
# thread priority: 98
# thread affinity: CPU1
# duration (hhmmss): 00:00:10
# timer peak (hhmmss): 00:00:04
# timer min latency: 0.310
# timer avg latency: 1.120
# timer max latency: 41.700
# timer sample count: 10000
0 4100
1 5400
2 480
3 16
9+ 4
