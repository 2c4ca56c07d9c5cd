/** Why a token is refused, as a sentence for whoever made it. It quotes nothing of the token. */
export class JwtFault extends Error {
  override readonly name = 'JwtFault'
}
