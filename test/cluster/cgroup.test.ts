import t from 'tap'
import { openCgroup } from '../../src/cluster/cgroup.ts'

function open(files: Readonly<Record<string, string>>) {
  return openCgroup((path) => files[path] ?? null)
}

const two = { '/sys/fs/cgroup/cgroup.controllers': 'cpu memory pids\n', '/proc/self/cgroup': '0::/\n' }

t.test('version 2 tells memory without the page cache, and the processors of the quota', async (t) => {
  const cgroup = open({
    ...two,
    '/sys/fs/cgroup/memory.max': '1000000\n',
    '/sys/fs/cgroup/memory.current': '900000\n',
    '/sys/fs/cgroup/memory.stat':
      'anon 500000\nfile 390000\nshmem 10000\ninactive_file 200000\nactive_file 180000\nslab_reclaimable 5000\n',
    '/sys/fs/cgroup/cpu.max': '150000 100000\n',
    '/sys/fs/cgroup/cpu.stat': 'usage_usec 3000000\nuser_usec 2000000\nnr_throttled 5\nthrottled_usec 500000\n',
    '/sys/fs/cgroup/cgroup.threads': '7\n8\n12\n',
  })
  t.strictSame(cgroup.memory(), { capacityBytes: 1_000_000, usedBytes: 515_000 })
  t.strictSame(cgroup.processor(), { coreCount: 1.5, demandMs: 3_500 })
  t.strictSame(cgroup.threadIds(), [7, 8, 12])
})

t.test('version 2 without limits bounds nothing', async (t) => {
  const cgroup = open({
    ...two,
    '/sys/fs/cgroup/memory.max': 'max\n',
    '/sys/fs/cgroup/memory.current': '900000\n',
    '/sys/fs/cgroup/cpu.max': 'max 100000\n',
  })
  t.equal(cgroup.memory(), null)
  t.equal(cgroup.processor(), null)
  t.strictSame(cgroup.threadIds(), [])
})

t.test('a group is bounded by those above it: by the one with the least left', async (t) => {
  const files = {
    ...two,
    '/proc/self/cgroup': '0::/system.slice/millrace.service\n',
    '/sys/fs/cgroup/system.slice/millrace.service/memory.max': '1000\n',
    '/sys/fs/cgroup/system.slice/millrace.service/memory.current': '500\n',
    '/sys/fs/cgroup/system.slice/millrace.service/cpu.max': 'max 100000\n',
    '/sys/fs/cgroup/system.slice/millrace.service/cgroup.threads': '3\n',
    '/sys/fs/cgroup/system.slice/memory.max': '4000\n',
    '/sys/fs/cgroup/system.slice/memory.current': '3000\n',
    '/sys/fs/cgroup/system.slice/memory.stat': 'inactive_file 100\n',
    '/sys/fs/cgroup/system.slice/cpu.max': '400000 100000\n',
    '/sys/fs/cgroup/system.slice/cpu.stat': 'usage_usec 9000\n',
  }
  const cgroup = open(files)
  t.strictSame(cgroup.memory(), { capacityBytes: 4_000, usedBytes: 2_900 })
  t.strictSame(cgroup.processor(), { coreCount: 4, demandMs: 9 })
  t.strictSame(cgroup.threadIds(), [3])
})

const one = {
  '/proc/self/cgroup': '12:cpu,cpuacct:/docker/abc\n5:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/docker/abc\n',
}

t.test('version 1 has a tree for each controller, which a container sees from its own group on', async (t) => {
  const cgroup = open({
    ...one,
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '1000000\n',
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': '900000\n',
    '/sys/fs/cgroup/memory/memory.stat': 'cache 1\ntotal_inactive_file 300000\ntotal_active_file 50000\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpu/cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 2000000\n',
    '/sys/fs/cgroup/cpuacct/cpuacct.usage': '5000000\n',
    '/sys/fs/cgroup/cpu/tasks': '1\n9\n',
  })
  t.strictSame(cgroup.memory(), { capacityBytes: 1_000_000, usedBytes: 550_000 })
  t.strictSame(cgroup.processor(), { coreCount: 0.5, demandMs: 7 })
  t.strictSame(cgroup.threadIds(), [1, 9])
})

t.test('version 1 on a machine is read where the process is', async (t) => {
  const cgroup = open({
    ...one,
    '/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes': '2000\n',
    '/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes': '100\n',
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': '99999\n',
    '/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us': '200000\n',
    '/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpuacct/docker/abc/cpuacct.usage': '3000000\n',
    '/sys/fs/cgroup/cpu/docker/abc/tasks': '4\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    '/sys/fs/cgroup/cpu/tasks': '1\n2\n3\n4\n',
  })
  t.strictSame(cgroup.memory(), { capacityBytes: 2_000, usedBytes: 100 })
  t.strictSame(cgroup.processor(), { coreCount: 2, demandMs: 3 })
  t.strictSame(cgroup.threadIds(), [4])
})

t.test('version 1 without limits, and a system without control groups, bound nothing', async (t) => {
  const unlimited = open({
    ...one,
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': '900000\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  })
  for (const cgroup of [unlimited, open({})]) {
    t.equal(cgroup.memory(), null)
    t.equal(cgroup.processor(), null)
    t.strictSame(cgroup.threadIds(), [])
  }
})

t.test('a path outside of what the container sees is its root', async (t) => {
  const cgroup = open({
    ...two,
    '/proc/self/cgroup': '0::/../other\n',
    '/sys/fs/cgroup/memory.max': '1000\n',
    '/sys/fs/cgroup/memory.current': '10\n',
  })
  t.strictSame(cgroup.memory(), { capacityBytes: 1_000, usedBytes: 10 })
})
