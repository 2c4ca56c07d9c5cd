import { shortenedText } from '../../shared/beginning-of.ts'

const placeCharsMax = 300

/**
 * Scheme, host and path of a URL, for errors and the log: a query may be the signature of a presigned URL, and what stands before
 * the host a password.
 */
export function urlPlace({ protocol, host, pathname }: URL): string {
  const place = `${protocol}//${host}${pathname}`
  return shortenedText(place, placeCharsMax)
}

/** A part of a URL, percent-decoded where that gives a text. */
export function decodedText(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A part that is no UTF-8 is a text all the same.
    return part
  }
}
