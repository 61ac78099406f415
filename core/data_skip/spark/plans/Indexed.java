package data_skip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;

/**
 * What is known of the indexes of a table before any of its scans is asked about: a scan that none of them may serve stays as it is. It is so
 * as long as some files of this machine are what they were, as those of the indexes' logs.
 */
public final class Indexed {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String STAMP = "unix:dev,ino,size,lastModifiedTime,ctime"; // as of guard.stamp

  private final boolean exists;
  private final Collection columns; // of which the indexes may say something; null: of any
  private final Set valued; // of these, those of which every file is known to hold a value
  private final String version; // of the indexes; null: not known
  private final Map watched; // by the paths of files, what tells each from another one of its name, null: there is none. null: of no files alone

  private Indexed(Map told) {
    exists = told.containsKey("columns");
    version = (String) told.get("version");
    columns = told.get("columns") == null ? null : new HashSet((Collection) told.get("columns"));
    valued = exists ? new HashSet((Collection) told.get("valued")) : new HashSet();
    watched = (Map) told.get("watched");
  }

  /** Of each scan, from Python's answer. */
  public static Indexed[] of(String json) throws IOException {
    List told = (List) JSON.readValue(json, List.class);
    Indexed[] result = new Indexed[told.size()];
    for (int i = 0; i < result.length; i++) result[i] = new Indexed((Map) told.get(i));
    return result;
  }

  /** Whether the table has an index at all. */
  public boolean exists() {
    return exists;
  }

  /** Whether all of this is so still: false where that cannot be seen. */
  public boolean isStill() {
    if (watched == null) return false;
    try {
      for (Iterator files = watched.entrySet().iterator(); files.hasNext();) {
        Map.Entry file = (Map.Entry) files.next();
        if (!is(Paths.get((String) file.getKey(), new String[0]), (List) file.getValue())) return false;
      }
      return true;
    } catch (Exception unknown) { // as where files have no such attributes
      return false;
    }
  }

  private static boolean is(Path file, List stamp) throws IOException {
    if (stamp == null) return Files.notExists(file, new LinkOption[0]);
    Map now = Files.readAttributes(file, STAMP, new LinkOption[0]);
    Object[] read = {now.get("dev"), now.get("ino"), now.get("size"), nanoseconds(now.get("lastModifiedTime")), nanoseconds(now.get("ctime"))};
    boolean same = stamp.size() == read.length;
    for (int i = 0; same && i < read.length; i++) same = ((Number) stamp.get(i)).longValue() == ((Number) read[i]).longValue();
    return same;
  }

  private static Long nanoseconds(Object time) {
    return new Long(((FileTime) time).to(TimeUnit.NANOSECONDS));
  }

  /** Which indexes they are, and by what they are known: another text for others. null: not known. */
  public String version() {
    return version;
  }

  /** Whether one of them may say something of rows that satisfy a predicate; names: of the scan's columns. */
  public boolean mayServe(Expression predicate, Map names) {
    if (columns == null) return true;
    List parts = Plans.conjuncts(predicate);
    for (int i = 0; i < parts.size(); i++) if (mayServePart((Expression) parts.get(i), names)) return true;
    return false;
  }

  /** As `mayServe`, of rows that pass one of some runtime filters. */
  public boolean mayServeAny(List runtimeFilters, Map names) {
    if (columns == null) return !runtimeFilters.isEmpty();
    for (int i = 0; i < runtimeFilters.size(); i++) {
      if (!Collections.disjoint(columns, ((RuntimeFilter) runtimeFilters.get(i)).columns(names))) return true;
    }
    return false;
  }

  private boolean mayServePart(Expression part, Map names) {
    scala.collection.Iterator references = part.references().iterator();
    boolean constant = !references.hasNext(); // as false, of which all files can be skipped
    Collection asked = new HashSet();
    while (references.hasNext()) asked.add(names.get(((Attribute) references.next()).exprId()));
    boolean asksForValues = part instanceof IsNotNull && ((IsNotNull) part).child() instanceof AttributeReference;
    if (asksForValues && valued.containsAll(asked)) return false;
    return constant || !Collections.disjoint(columns, asked);
  }
}
