/** A run that cannot be read, or differs from what was archived. */
export interface DamagedRun {
  runId: string;
  /** One line that names the run, and says what is wrong. */
  message: string;
}
