// Loaded into a service before its own program: what watches requests is switched off and on in turns while it runs, and what the
// service did meanwhile is noted. One process is compared with itself, so that neither other processes nor a machine whose speed
// changes from second to second count.

import { randomInt } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { NamedCounts } from '../../src/metrics/bounded-counts.ts'
import { CodeCounts } from '../../src/metrics/code-counts.ts'
import { TimeHistogram } from '../../src/metrics/time-histogram.ts'
import { SpanQueue } from '../../src/observe/traces/span-queue.ts'
import { ServiceRecorder } from '../../src/service-rows/service-recorder.ts'
import { assert } from '../../src/shared/assert.ts'
import { switchedVariable, type Window, windowMs, windowsVariable } from './watching-windows.ts'

const path = process.env[windowsVariable]
assert(path !== undefined, `${windowsVariable} names the file for what is noted`)

const switched = process.env[switchedVariable] ?? 'all'
let isOn = true
let requestCount = 0

if (isSwitched('metrics')) {
  switchMethods(CodeCounts.prototype, ['add'])
  switchMethods(NamedCounts.prototype, ['add'])
  switchMethods(TimeHistogram.prototype, ['note'])
}
if (isSwitched('service-rows')) {
  switchMethods(ServiceRecorder.prototype, ['request', 'operation', 'block', 'job', 'storage', 'token', 'limit'])
}
if (isSwitched('traces')) {
  switchMethods(SpanQueue.prototype, ['add'])
  // Requests begin a trace by chance.
  const random = Math.random
  const never = 1 - Number.EPSILON
  Math.random = () => (isOn ? random() : never)
}

subscribe('http.server.request.start', () => {
  requestCount += 1
})

const windows: Window[] = []
let isOnFirst = false
let begun = begin(0)
endLater()
process.on('SIGUSR2', () => writeFileSync(path, JSON.stringify(windows)))

/** Windows of one length, or in one order, would go in step with what the service does at intervals, such as inserts. */
function endLater(): void {
  setTimeout(end, randomInt(windowMs / 2, windowMs + windowMs / 2)).unref()
}

function end(): void {
  const { at, requests, cpuNs, on } = begun
  const next = begin(windows.length + 1)
  windows.push({ on, ms: next.at - at, requests: next.requests - requests, cpuMs: (next.cpuNs - cpuNs) / 1e6 })
  begun = next
  endLater()
}

/** Off, on, on, off, or the other way round: what changes steadily changes both alike. */
function begin(index: number) {
  const place = index % 4
  if (place === 0) isOnFirst = randomInt(2) === 1
  isOn = (place === 1 || place === 2) !== isOnFirst
  return { at: performance.now(), requests: requestCount, cpuNs: mainThreadNs(), on: isOn }
}

function isSwitched(name: string): boolean {
  return switched === 'all' || switched === name
}

function mainThreadNs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0])
}

/** These methods, of one argument each, do nothing while it is off. */
function switchMethods<Methods extends object>(prototype: Methods, names: readonly (keyof Methods & string)[]): void {
  for (const name of names) {
    const method: unknown = prototype[name]
    assert(typeof method === 'function', `${name} is a method`)
    Object.defineProperty(prototype, name, {
      // A list of arguments would cost more than much of what is measured.
      value(this: unknown, given: unknown): void {
        if (isOn) method.call(this, given)
      },
    })
  }
}
