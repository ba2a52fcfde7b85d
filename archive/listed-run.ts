import * as z from "zod/mini";
import { Count, Instant, Sum, WholeDuration } from "./bounds.ts";

/** A run in lists. It is not checked against its record; reading the run does that. */
export const ListedRun = z.object({
  run_id: z.string(),
  input_digest: z.string(),
  started_at: Instant,
  source: z.string(),
  principal: z.string(),
  client_session: z.nullable(z.string()),
  user: z.nullable(z.string()),
  host: z.nullable(z.string()),
  client: z.nullable(z.string()),
  /** `ok`, or the type of the failure. */
  status: z.string(),
  duration_ms: WholeDuration,
  calls: Count,
  failed_calls: Count,
  result_bytes: Sum,
  returned_bytes: Sum,
  redactions: Count,
  file_name: z.string(),
  title: z.string(),
  imported_at: z.nullable(Instant),
  origin: z.nullable(z.string()),
});
export type ListedRun = z.infer<typeof ListedRun>;

/** A run that cannot be read, or differs from what was archived. */
export interface DamagedRun {
  runId: string;
  /** One line that names the run, and says what is wrong. */
  message: string;
}

/** Selects runs that meet all conditions. */
export interface RunFilter {
  /** `ok`, `failed`, or a type of failure. */
  status?: string;
  source?: string;
  /** On whose behalf they ran. */
  principal?: string;
  /** A text in the first line of the program or in the name of its file, in whatever case. */
  text?: string;
  /** Runs that called a tool which this pattern matches, `*` for any characters. */
  tool?: string;
  /** Runs that called a tool of this server, by its configured name. */
  server?: string;
  /** Started then or later, in milliseconds since 1970. */
  sinceMs?: number;
  /** Started before then. */
  untilMs?: number;
  inputDigest?: string;
  /** The beginning of the client's name for its conversation. */
  clientSession?: string;
  /** The account that they ran with, by its name. */
  user?: string;
  /** The machine that they ran on. */
  host?: string;
  /** The name that a client gives itself, or the command of ptc. */
  client?: string;
  runId?: string;
}

/** Selects one page of the matching runs. */
export interface PageFilter extends RunFilter {
  /** The id of the last run of the previous page. */
  before?: string;
  limit: number;
}

export interface RunPage {
  /** Newest first. */
  runs: ListedRun[];
  /** Matching runs that cannot be listed. */
  damaged: DamagedRun[];
  /** The `before` of the next page, or `undefined` on the last page. */
  next: string | undefined;
}
