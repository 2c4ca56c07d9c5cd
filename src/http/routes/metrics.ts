import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpDeps, HttpOptions } from '../http.types.ts'
import { addPath } from '../server/add-path.ts'
import { AddressList } from '../server/address-list.ts'
import { clientAddressOf } from '../server/proxies.ts'
import { onWorkspace } from '../server/route-need.ts'

/** `GET /metrics`: what the service counted and what it is, as Prometheus reads it. Nothing where nothing is counted. */
export function addMetrics(
  app: FastifyInstance,
  { metrics }: Pick<HttpDeps, 'metrics'>,
  isOpenTo: (request: FastifyRequest) => boolean,
): void {
  if (metrics === null) return
  const tell = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const text = await metrics.text()
    return reply.code(200).header('content-type', metrics.contentType).send(text)
  }
  const config = { needs: { GET: onWorkspace('metrics:read') }, isFrequent: true, isOpenTo }
  addPath(app, '/metrics', { GET: tell }, config)
}

/** Whether a request comes from an address that the option names. @throws StartRefusal HTTP_OPTION_INVALID. */
export function namedAddresses({
  metricsAddresses,
}: Pick<HttpOptions, 'metricsAddresses'>): (request: FastifyRequest) => boolean {
  const named = new AddressList('metrics-addresses', metricsAddresses)
  return (request) => named.has(clientAddressOf(request))
}
