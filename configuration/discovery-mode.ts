/** Which tools `ptc serve` has as tools of its own: all that together cost little, those of `direct` alone, or all. */
export const DISCOVERY = ["auto", "search", "direct"] as const;
export type Discovery = (typeof DISCOVERY)[number];
