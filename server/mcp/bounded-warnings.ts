import { oneLine } from "../../base/text/one-line.ts";

const MAX_WARNING_CHARS = 300;
const TOLD_EACH = 20;
const THEN_ONE_IN = 1_000;

/** Limits warnings that a client can cause at will: each becomes one short line, and most are dropped when there are many. */
export function boundWarnings(onWarning: (message: string) => void): (message: string) => void {
  let count = 0;
  return (message) => {
    count++;
    if (count <= TOLD_EACH) onWarning(oneLine(message, MAX_WARNING_CHARS));
    if (count === TOLD_EACH) onWarning(`from now on only one in ${THEN_ONE_IN} warnings is told`);
    else if (count % THEN_ONE_IN === 0)
      onWarning(`${oneLine(message, MAX_WARNING_CHARS)} (warning ${count})`);
  };
}
