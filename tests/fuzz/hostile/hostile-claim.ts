import { FailureType } from "../../../protocol/failure.ts";
import type { Random } from "../random.ts";
import { deepJson, hostileJson, hostileObject, hostileString } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";

/** What a container writes to stdout: the runner's line, or something like it. */
export function hostileClaim(random: Random): string {
  const line = random.chance(0.6) ? success(random) : failure(random);
  switch (random.below(14)) {
    case 0:
      return line;
    case 1:
      return `${line}\n${line}\n`;
    case 2:
      return `${hostileText(random)}\n`;
    case 3:
      return "";
    case 4:
      return `${line}\r\n`;
    case 5:
      return `\ufeff${line}\n`;
    default:
      return `${line}\n`;
  }
}

function success(random: Random): string {
  const data = random.chance(0.05) ? deepJson(random, random.between(120, 135)) : hostileJson(random);
  const from = random.pick(["result", "line", "console"]);
  return hostileObject(
    random,
    [
      ["ok", "true"],
      ["data", from === "console" ? hostileString(random, hostileText(random, 200)) : data],
      ["from", JSON.stringify(from)],
    ],
    0.2,
  );
}

function failure(random: Random): string {
  const error = hostileObject(
    random,
    [
      ["type", JSON.stringify(random.pick(FailureType.options))],
      ["message", hostileString(random, hostileText(random, random.pick([3, 300])))],
      ["retryable", random.pick(["true", "false"])],
    ],
    0.2,
  );
  return hostileObject(
    random,
    [
      ["ok", "false"],
      ["error", error],
    ],
    0.1,
  );
}
