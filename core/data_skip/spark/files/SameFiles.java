package data_skip;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * What the scans of a query skip that are to read the same files (OrderOfRows): what is decided of the first of equal ones. Of another it might be
 * decided too late, by a later version of the index, or not at all.
 */
public final class SameFiles {
  private final Map skipped = new HashMap(); // by AskedScan, file versions

  /** Takes from a listing what the first of equal ones skips, and nothing else. scan: an AskedScan. */
  public synchronized void give(Object scan, Listing listing) {
    Set first = (Set) skipped.get(scan);
    if (first == null) skipped.put(scan, listing.skipped());
    else listing.skipOnly(first);
  }
}
