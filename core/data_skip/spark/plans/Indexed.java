package data_skip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;

/** What is known of the indexes of a table before any of its scans is asked about: a scan that none of them may serve stays as it is. */
public final class Indexed {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final Map LAST = new ConcurrentHashMap(); // by the text; never changed once made
  private static final int MOST = 128;

  private final Collection columns; // of which the indexes may say something; null: of any
  private final Set valued; // of these, those of which every file is known to hold a value

  private final String version; // of the indexes; null: not known

  private Indexed(Collection columns, Collection valued, String version) {
    this.version = version;
    this.columns = columns == null ? null : new HashSet(columns);
    this.valued = new HashSet(valued);
  }

  /** Of each scan, from Python's answer, which is mostly one of the last ones; null where its table has no index. */
  public static Indexed[] of(String json) throws IOException {
    Indexed[] known = (Indexed[]) LAST.get(json);
    if (known != null) return known;
    if (LAST.size() >= MOST) LAST.clear();
    known = parsed(json);
    LAST.put(json, known);
    return known;
  }

  private static Indexed[] parsed(String json) throws IOException {
    List told = (List) JSON.readValue(json, List.class);
    Indexed[] result = new Indexed[told.size()];
    for (int i = 0; i < result.length; i++) {
      Map one = (Map) told.get(i);
      if (one != null) result[i] = new Indexed((Collection) one.get("columns"), (Collection) one.get("valued"), (String) one.get("version"));
    }
    return result;
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
