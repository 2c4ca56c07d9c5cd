/** The variable that names the file to which a service writes its windows at SIGUSR2. */
export const windowsVariable = 'WATCHING_WINDOWS'

/** Long beside what begins and ends in one, short beside what else happens on a machine. */
export const windowMs = 200

/** What the service did between two looks. */
export interface Window {
  /** Whether what watches was on. */
  readonly on: boolean
  readonly ms: number
  readonly requests: number
  /** Of the thread that answers requests. */
  readonly cpuMs: number
}
