/** The least number of optional properties for which a group is shorter: alone, and beside required ones. */
const MIN_ALONE = 4;
const MIN_BESIDE = 5;

/**
 * Rewrites objects of many optional properties as `{required}&Partial<{optional}>`: one word for all of them instead of
 * a mark on each. Takes and gives a skeleton, a property to a line.
 */
export function groupOptional(skeleton: string): string {
  let at = 0;
  const readLine = (): string => {
    let text = "";
    while (at < skeleton.length && skeleton[at] !== "\n") {
      if (skeleton.startsWith("{\n", at)) {
        const object = readObject();
        text += object.includes("}&Partial<{") && skeleton.startsWith("[]", at) ? `(${object})` : object;
      } else {
        text += skeleton[at++];
      }
    }
    at++;
    return text;
  };
  const readObject = (): string => {
    at += "{\n".length;
    const properties: string[] = [];
    while (at < skeleton.length && skeleton[at] !== "}") properties.push(readLine());
    at++;
    return printObject(properties);
  };
  return readLine();
}

function printObject(properties: readonly string[]): string {
  const block = (lines: readonly string[]): string => `{\n${lines.map((line) => `${line}\n`).join("")}}`;
  const isOptional = (property: string): boolean => /^ptc\$p[\dd]+\?: /.test(property);
  const optional = properties.filter(isOptional).map((property) => property.replace("?: ", ": "));
  const others = properties.filter((property) => !isOptional(property));
  if (optional.length < (others.length === 0 ? MIN_ALONE : MIN_BESIDE)) return block(properties);
  const group = `Partial<${block(optional)}>`;
  return others.length === 0 ? group : `${block(others)}&${group}`;
}
