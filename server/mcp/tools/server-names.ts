/** What the names of servers may cost: about 40 names of real servers. */
const MAX_TOKENS = 130;

/**
 * The names of servers, all of them unless there are hundreds, and then how many more there are. The cost is estimated, because
 * a tokenizer would cost the start of a server more than the names cost a model.
 */
export function listServerNames(servers: readonly string[], maxTokens = MAX_TOKENS): string {
  let tokens = 0;
  let count = 0;
  for (const name of servers) {
    tokens += estimateNameTokens(name);
    if (tokens > maxTokens) break;
    count++;
  }
  const rest = servers.length - count;
  return [...servers.slice(0, count), ...(rest === 0 ? [] : [`and ${rest} more`])].join(", ");
}

/** Words are a token for every few letters, digits and letters without a vowel more, and the separator is one. */
export function estimateNameTokens(name: string): number {
  let tokens = 1;
  for (const [part] of name.matchAll(/[a-z]+|[0-9]{1,3}|[^a-z0-9]/gi)) {
    if (part === "_") tokens += 0.25;
    else if (!/[a-z]/i.test(part)) tokens++;
    else tokens += Math.max(1, part.length / (/[aeiouy]/i.test(part) ? 4.5 : 1.3));
  }
  return tokens;
}
