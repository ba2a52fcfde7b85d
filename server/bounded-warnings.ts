const MAX_WARNING_CHARS = 300;
const TOLD_EACH = 20;
const THEN_ONE_IN = 1_000;

/** Passes on warnings that a client can cause at will: each in one short line, and of very many only some. */
export function boundWarnings(onWarning: (message: string) => void): (message: string) => void {
  let count = 0;
  return (message) => {
    count++;
    if (count <= TOLD_EACH) onWarning(shorten(message));
    if (count === TOLD_EACH) onWarning(`from now on only one in ${THEN_ONE_IN} warnings is told`);
    else if (count % THEN_ONE_IN === 0) onWarning(`${shorten(message)} (warning ${count})`);
  };
}

function shorten(message: string): string {
  const head = message.slice(0, MAX_WARNING_CHARS).replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ");
  return message.length > MAX_WARNING_CHARS ? `${head}...` : head;
}
