import { beginningOf } from '../../shared/beginning-of.ts'
import { decodedText } from './url-place.ts'

const nameCharsMax = 255

interface NamePlaces {
  /** By the server's Content-Disposition. */
  readonly given: string | null
  /** The URL that brought the file. */
  readonly last: URL
  /** The URL that was asked for. */
  readonly first: URL
}

/**
 * What a file is called: by its server, else by the first of its URLs that ends in a name with an extension. Redirects often
 * lead to names that are only keys.
 */
export function fileNameOf({ given, last, first }: NamePlaces): string {
  const names = [
    ...(given === null ? [] : [baseName(given)]),
    ...[last, first].map(({ pathname }) => baseName(decodedText(pathname))),
  ]
  return beginningOf(names.find((name) => /\.[^.]+$/.test(name)) ?? names[0] ?? '', nameCharsMax)
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}
