/**
 * Says what is wrong with the name of a time zone, or null when the engine knows it too.
 *
 * Every zone of the engine's own table is known to `Intl`, which takes more: offsets and any capitals. Those are refused.
 */
export function timeZoneFault(zone: string): { readonly reason: string; readonly hint?: string } | null {
  const reason = `Unknown time zone '${zone}'`
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) {
    return { reason, hint: "use a name such as 'Europe/Madrid' or 'Etc/GMT-2'" }
  }
  const canonical = canonicalZone(zone)
  if (canonical === null) return { reason }
  if (canonical !== zone && canonical.toLowerCase() === zone.toLowerCase()) {
    return { reason, hint: `did you mean '${canonical}'?` }
  }
  // An older name of a zone (`US/Pacific`) has another canonical name; no such name begins with a small letter.
  return /^[A-Z]/.test(zone) ? null : { reason }
}

function canonicalZone(zone: string): string | null {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone
  } catch (error) {
    // The one way that Intl has to say no.
    if (error instanceof RangeError) return null
    throw error
  }
}
