import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const ROUNDS = 20;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Whether nothing holds an object after some garbage collections. */
export async function isCollected(held: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round++) {
    // An object that was looked at is there until the end of the turn.
    await delay(5);
    collectGarbage();
    if (held.deref() === undefined) return true;
  }
  return false;
}
