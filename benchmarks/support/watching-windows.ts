/** The variable that names the file to which a service writes its windows at SIGUSR2. */
export const windowsVariable = 'WATCHING_WINDOWS'

/** The variable that names what is switched: the rest is on all the time. With `nothing`, windows differ by chance alone. */
export const switchedVariable = 'WATCHING_SWITCHED'

export const switchable = ['all', 'metrics', 'service-rows', 'traces', 'nothing']

/** On average: long beside what begins and ends in one, short beside what else happens on a machine. */
export const windowMs = 50

/** What the service did between two looks. */
export interface Window {
  /** Whether what watches was on. */
  readonly on: boolean
  readonly ms: number
  readonly requests: number
  /** Of the thread that answers requests. */
  readonly cpuMs: number
}
