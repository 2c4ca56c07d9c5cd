// Why connections to other servers end, in words. Messages of the system name addresses, which may be those of a private network; codes do not.

const faults: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved now',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network of the host cannot be reached',
  UND_ERR_SOCKET: 'the connection was closed too early',
}

/** The words for a code of the system, of undici, or of TLS; null for one that is not known. */
export function connectionFaultOf(code: string): string | null {
  return isTlsCode(code) ? `a secure connection could not be made: ${code}` : (faults[code] ?? null)
}

/** Codes of certificates are those of OpenSSL's X509_V_ERR, which have no prefix in common. */
export function isTlsCode(code: string): boolean {
  return /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/.test(
    code,
  )
}
