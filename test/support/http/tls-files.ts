import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from '../repository-root.ts'

/** One of the certificates of the fixtures, for localhost: its files, and what trusts it. */
export function tlsFixture(name: 'first' | 'second') {
  const tlsCertFile = join(repositoryRoot, 'fixtures', 'tls', `${name}-cert.pem`)
  const tlsKeyFile = join(repositoryRoot, 'fixtures', 'tls', `${name}-key.pem`)
  return { files: { tlsCertFile, tlsKeyFile }, ca: readFileSync(tlsCertFile, 'utf8') }
}
