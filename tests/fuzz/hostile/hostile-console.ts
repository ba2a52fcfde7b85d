import type { Random } from "../random.ts";
import { hostileJson, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";

/** What a container writes to stderr: console records, things like them, and whatever else. */
export function hostileConsole(random: Random, secrets: readonly string[]): Buffer {
  const text = () => {
    const said = hostileText(random, random.pick([2, 8, 60]));
    return random.chance(0.2) ? `${said}${random.pick(secrets)}${hostileText(random, 2)}` : said;
  };
  const record = (body: string) => Buffer.from(`\u001e${body}\n`);
  return Buffer.concat(
    random.list(random.size(30), () => {
      switch (random.below(8)) {
        case 0:
          return record(hostileJson(random, { broken: 0.3 }));
        case 1:
          return Buffer.from(text());
        case 2:
          return random.bytes(random.size(50));
        case 3:
          return record(`["out",${hostileString(random, text())}`);
        case 4:
          return record(`["out",${hostileString(random, `${text()}\n... (truncated)\n`)}]`);
        default:
          return record(`[${random.pick(['"out"', '"err"'])},${hostileString(random, text())}]`);
      }
    }),
  );
}
