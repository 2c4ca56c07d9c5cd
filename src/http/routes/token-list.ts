import type { StaticToken, Tokens, ValuedToken } from '../../access/tokens/token.types.ts'
import { giveWay } from '../../shared/time-slices.ts'

interface ListedTokens {
  readonly valuesOf: Tokens['valuesOf']
  /** As it is now; null for one that is gone, or not to be told of any more. */
  readonly stillSeen: (token: StaticToken) => StaticToken | null
  readonly shape: (token: ValuedToken) => object
}

/** Values that are opened at once; enough for the thread that opens many. */
const sliceTokens = 256
const pieceCharactersMin = 32 * 1024

/**
 * The JSON of a list, a piece at a time: the next one is made when the last was taken, so that lists of a large workspace, however
 * many are read at once and however slowly, hold no more than a piece each. A token that is gone by then is left out.
 */
export async function* tokenListPieces(
  tokens: readonly StaticToken[],
  { valuesOf, stillSeen, shape }: ListedTokens,
): AsyncGenerator<string> {
  let piece = '{"tokens":['
  let separator = ''
  for (let start = 0; start < tokens.length; start += sliceTokens) {
    const slice = tokens.slice(start, start + sliceTokens).flatMap((token) => stillSeen(token) ?? [])
    const values = await valuesOf(slice)
    for (const [index, token] of slice.entries()) {
      piece += `${separator}${JSON.stringify(shape({ token, value: values[index] ?? null }))}`
      separator = ','
      await giveWay()
      if (piece.length < pieceCharactersMin) continue
      yield piece
      piece = ''
    }
  }
  yield `${piece}]}`
}
