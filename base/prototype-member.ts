/**
 * Finds a member of its own named `__proto__`, at any depth of what was parsed from JSON. To JSON it is a name like any other, but code that
 * copies members by assignment (`Object.assign`, a loop) makes it the prototype of the copy.
 *
 * @returns where the first one found is, as in `a[0].__proto__`; `undefined` where there is none.
 */
export function findPrototypeMember(value: unknown): string | undefined {
  const open: { value: unknown; at: string }[] = [{ value, at: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: each, at } = next;
    if (typeof each !== "object" || each === null) continue;
    if (Object.hasOwn(each, "__proto__")) return pathTo(at, "__proto__");
    for (const [name, member] of Object.entries(each))
      if (typeof member === "object")
        open.push({ value: member, at: Array.isArray(each) ? cut(`${at}[${name}]`) : pathTo(at, name) });
  }
  return undefined;
}

const MAX_PATH_CHARS = 200;

function pathTo(at: string, name: string): string {
  return cut(at === "" ? name : `${at}.${name}`);
}

/** A path's end says most. */
function cut(path: string): string {
  return path.length > MAX_PATH_CHARS ? `…${path.slice(-MAX_PATH_CHARS)}` : path;
}
