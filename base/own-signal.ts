/**
 * A signal that aborts with another, for one of many tasks that share it. The listeners of each task are on a signal of its
 * own, because older versions of Node.js report more than ten on one signal as a leak.
 */
export function ownSignal(shared: AbortSignal): AbortSignal {
  return AbortSignal.any([shared]);
}
