export interface Part {
  readonly name: string
  readonly fileName?: string
  readonly content: string
}

/** A form as clients write it, and the type to send it with. */
export function multipart(parts: readonly Part[]): { readonly payload: Buffer; readonly type: string } {
  const texts = parts.map(({ name, fileName, content }) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"\r\nContent-Type: application/octet-stream`
    return `--frontier\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`
  })
  return { payload: Buffer.from(`${texts.join('')}--frontier--\r\n`), type: 'multipart/form-data; boundary=frontier' }
}
