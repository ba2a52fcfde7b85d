import { formatBytes } from "../../base/quantities.ts";
import { describeEmitted } from "../../execution/output/emitted-blocks.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";

/** What a program emitted, for people: `chart.png, image/png, 34 KB`. It holds text of the program's. */
export function emittedLine(block: EmittedBlock): string {
  const { name, what, bytes } = describeEmitted(block);
  const size = block.type === "resource_link" ? [] : [formatBytes(bytes)];
  return [...(name === undefined ? [] : [name]), what, ...size].join(", ");
}
