/** Frames of HTTP/2 as bytes, for what no client sends (RFC 9113). */

const connectionPreface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const endStream = 0x1
const endHeaders = 0x4

export const frameTypes = {
  data: 0x0,
  headers: 0x1,
  rstStream: 0x3,
  settings: 0x4,
  ping: 0x6,
  windowUpdate: 0x8,
} as const

interface Frame {
  readonly type: number
  readonly flags?: number
  readonly streamId?: number
  readonly payload?: Uint8Array
}

export function frame({ type, flags = 0, streamId = 0, payload = new Uint8Array() }: Frame): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** What a client says first. */
export function opening(): Buffer {
  return Buffer.concat([Buffer.from(connectionPreface), frame({ type: frameTypes.settings })])
}

/** The headers of a request whose body follows; names and values are shorter than 127 bytes. */
export function requestHead(streamId: number, headers: Readonly<Record<string, string>>): Buffer {
  return headersFrame(streamId, headers, endHeaders)
}

/** A request without a body. */
export function wholeRequest(streamId: number, headers: Readonly<Record<string, string>>): Buffer {
  return headersFrame(streamId, headers, endHeaders | endStream)
}

function headersFrame(streamId: number, headers: Readonly<Record<string, string>>, flags: number): Buffer {
  // Literals without indexing, each text with its length (RFC 7541, 6.2.2).
  const fields = Object.entries(headers).map(([name, value]) =>
    Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]),
  )
  return frame({ type: frameTypes.headers, flags, streamId, payload: Buffer.concat(fields) })
}
