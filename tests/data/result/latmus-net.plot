# Test started on: Fri Jan 24 15:36:34 2025
# Linux version 6.6.30-evl (builder@host) (gcc 13) #1 SMP PREEMPT IRQPIPE
# console=ttyS0
# libevl version: evl.0.50
# sampling period: 1000 microseconds
# context: net
# thread priority: 98
# thread affinity: CPU1
# duration (hhmmss): 00:00:02
# RX queuing peak (hhmmss): 00:00:01
# RX queuing min latency: 0.310
# RX queuing avg latency: 1.020
# RX queuing max latency: 3.700
# RX queuing sample count: 100
# RX delivery peak (hhmmss): 00:00:01
# RX delivery min latency: 2.310
# RX delivery avg latency: 3.020
# RX delivery max latency: 4.700
# RX delivery sample count: 100
0 20 0
1 70 0
2 9 10
3 1 80
4 0 10
