import type { FastifyRequest } from 'fastify'

/** The address that the client reached the service under, without a path: a proxy may speak TLS for us, and says so. */
export function baseUrlOf(request: FastifyRequest): string {
  const forwarded = String(request.headers['x-forwarded-proto'] ?? '')
  const protocol = forwarded === 'https' || forwarded === 'http' ? forwarded : request.protocol
  return `${protocol}://${request.host === '' ? 'localhost' : request.host}`
}
