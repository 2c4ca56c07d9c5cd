import { createSecretBox } from '../../src/secrets/secret-box.ts'
import type { SecretBox } from '../../src/secrets/secret-box.types.ts'
import { createSecretKeyOfRandom } from '../../src/secrets/secret-key.ts'

/** A box with a key of its own. */
export function testBox(): SecretBox {
  return createSecretBox([createSecretKeyOfRandom()])
}
