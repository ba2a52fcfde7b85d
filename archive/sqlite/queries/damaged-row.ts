import { visibleLine } from "../../../base/visible-text.ts";
import type { DamagedRun } from "../../damaged-run.ts";
import type { RawRow } from "../file/database.ts";

const MAX_ID_CHARS = 64;

/** Describes a run whose row ptc did not write. @param columns the names of the wrong columns. */
export function damagedRow(raw: RawRow, columns: readonly string[]): DamagedRun {
  const runId = visibleLine(String(raw.run_id)).slice(0, MAX_ID_CHARS);
  const message = `run ${runId} is not as it was archived: its row holds a wrong ${columns.join(" and ")}; do not trust it`;
  return { runId, message };
}
