/** Milliseconds of the system's monotonic clock: the same in all processes of the machine, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
