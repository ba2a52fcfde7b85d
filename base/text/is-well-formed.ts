/** Whether every surrogate of a text has its other half, without which UTF-8 cannot carry it. */
export function isWellFormed(text: string): boolean {
  // TypeScript's library of ES2023 does not have it; Node.js 20 does.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
