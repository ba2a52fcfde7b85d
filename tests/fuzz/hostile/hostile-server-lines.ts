import type { Random } from "../random.ts";
import { deepJson, hostileJson, hostileObject, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";

/** What a server on stdio writes: messages, batches of them, and whatever else. */
export function hostileServerLines(random: Random, count: number): Buffer {
  const lines = random.list(count, () => {
    const line = serverLine(random);
    return Buffer.concat([
      Buffer.from(line),
      Buffer.from(random.chance(0.9) ? "\n" : random.pick(["\r\n", "", "\n\n"])),
    ]);
  });
  return Buffer.concat(lines);
}

function serverLine(random: Random): string {
  switch (random.below(12)) {
    case 0:
      return hostileText(random).replaceAll("\n", "");
    case 1:
      return `[${random.list(random.size(8), () => serverMessage(random)).join(",")}]`;
    case 2:
      return `{"jsonrpc":"2.0","id":${random.below(9)},"result":${JSON.stringify("x".repeat(random.pick([4_000, 4_096, 20_000])))}}`;
    case 3:
      return `{"result":"${"x".repeat(5_000)}","id":${random.below(9)},"jsonrpc":"2.0"}`;
    default:
      return serverMessage(random);
  }
}

/** One JSON-RPC message of a server's: an answer, an error, a request or a notification. */
export function serverMessage(random: Random, result: string = toolResult(random)): string {
  const version = ["jsonrpc", '"2.0"'] as const;
  const id = [
    "id",
    random.chance(0.8) ? String(random.below(9)) : hostileJson(random, { levels: 1 }),
  ] as const;
  const error = hostileObject(random, [
    ["code", random.pick(["-32603", "1", "1.5", "1e400", '"x"'])],
    ["message", hostileString(random, hostileText(random))],
    ["data", hostileJson(random, { levels: 2 })],
  ]);
  const method = [
    "method",
    JSON.stringify(random.pick(["ping", "notifications/progress", "x", "__proto__"])),
  ] as const;
  switch (random.below(5)) {
    case 0:
      return hostileObject(random, [version, id, ["error", error]]);
    case 1:
      return hostileObject(random, [version, method, ["params", hostileJson(random, { levels: 2 })]]);
    case 2:
      return hostileObject(random, [version, id, method]);
    default:
      return hostileObject(random, [version, id, ["result", result]], 0.15);
  }
}

/** A result of `tools/call`. */
export function toolResult(random: Random): string {
  if (random.chance(0.05)) return deepJson(random, random.pick([126, 130, 1_001, 3_000]));
  const block = () =>
    hostileObject(
      random,
      [
        ["type", random.pick(['"text"', '"image"', '"resource"', "1"])],
        [
          "text",
          hostileString(
            random,
            random.chance(0.5) ? hostileJson(random, { broken: 0.1 }) : hostileText(random),
          ),
        ],
      ],
      0.2,
    );
  const members: [string, string][] = [["content", `[${random.list(random.size(4), block).join(",")}]`]];
  if (random.chance(0.4)) members.push(["structuredContent", hostileJson(random)]);
  if (random.chance(0.3)) members.push(["isError", random.pick(["true", "false", '"true"', "1"])]);
  return hostileObject(random, members, 0.15);
}
