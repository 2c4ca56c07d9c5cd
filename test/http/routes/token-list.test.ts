import t from 'tap'
import type { StaticToken } from '../../../src/access/tokens/token.types.ts'
import { tokenListPieces } from '../../../src/http/routes/token-list.ts'

function tokenOf(index: number): StaticToken {
  const fields = { name: `n${index}`, description: 'x'.repeat(100), scopes: [], origin: 'created' } as const
  return { id: `t${index}`, ...fields, isWorkspaceAdmin: false, createdAt: 0, updatedAt: 0, expiresAt: null }
}

const tokens = Array.from({ length: 5_000 }, (_, index) => tokenOf(index))

t.test('a list that nobody reads on opens no values, and holds no more than a piece', async (t) => {
  let openedCount = 0
  const pieces = tokenListPieces(tokens, {
    valuesOf: async (some) => {
      openedCount += some.length
      return some.map(({ id }) => `value of ${id}`)
    },
    stillSeen: (token) => token,
    shape: ({ token, value }) => ({ ...token, value }),
  })
  t.equal(openedCount, 0)
  const first = await pieces.next()
  t.ok(openedCount < 500, `${openedCount} of ${tokens.length} are opened`)
  const texts = [String(first.value)]
  for await (const piece of pieces) texts.push(piece)
  t.ok(
    texts.every((text) => text.length < 64 * 1024),
    'of bounded pieces',
  )
  const { tokens: told } = JSON.parse(texts.join('')) as { readonly tokens: readonly object[] }
  t.equal(told.length, tokens.length)
  t.match(told.at(-1), { name: 'n4999', value: 'value of t4999' })
})

t.test('a token that was deleted or became stronger while the list was read is left out', async (t) => {
  for (const goneCount of [0, 1, tokens.length]) {
    const pieces = tokenListPieces(tokens, {
      valuesOf: async (some) => some.map(() => 'value'),
      stillSeen: (token) => (Number(token.id.slice(1)) < goneCount ? null : token),
      shape: ({ token, value }) => ({ id: token.id, value }),
    })
    let text = ''
    for await (const piece of pieces) text += piece
    const { tokens: told } = JSON.parse(text) as { readonly tokens: readonly object[] }
    t.equal(told.length, tokens.length - goneCount)
  }
})
