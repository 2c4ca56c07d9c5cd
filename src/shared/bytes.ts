export const kibibyte = 1024
export const mebibyte = 1024 * kibibyte
export const gibibyte = 1024 * mebibyte

const steps = [
  { unit: 'GiB', bytes: gibibyte },
  { unit: 'MiB', bytes: mebibyte },
  { unit: 'KiB', bytes: kibibyte },
]

/** A size as people read it, without rounding: `16 MiB`, `10000000 bytes`. `byteCount` is a whole number, 0 or more. */
export function formatBytes(byteCount: number): string {
  const step = steps.find(({ bytes }) => byteCount > 0 && byteCount % bytes === 0)
  return step === undefined ? `${byteCount} bytes` : `${byteCount / step.bytes} ${step.unit}`
}
