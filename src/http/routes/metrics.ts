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
  { metricsAddresses }: Pick<HttpOptions, 'metricsAddresses'>,
): void {
  if (metrics === null) return
  const tell = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const text = await metrics.text()
    return reply.code(200).header('content-type', metrics.contentType).send(text)
  }
  const named = new AddressList('metrics-addresses', metricsAddresses)
  const isOpenTo = (request: FastifyRequest): boolean => named.has(clientAddressOf(request))
  const config = { needs: { GET: onWorkspace('metrics:read') }, isFrequent: true, isOpenTo }
  addPath(app, '/metrics', { GET: tell }, config)
}
