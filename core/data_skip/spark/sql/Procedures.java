package data_skip;

import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.DefaultValue;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The procedures of a session: the catalog `data_skip`, which holds nothing else. */
public final class Procedures implements ProcedureCatalog, BiFunction {
  private static final String NAME = "data_skip";
  private static final String KEY = "spark.sql.catalog." + NAME;

  private final Map procedures = new LinkedHashMap(); // by name

  /**
   * The catalog of a session; null where that is the user's own, or would hide a database of that name. Spark makes it by the name of its class, once, and keeps it: so long a copy of
   * the session's settings has that name, and this thread's class loader is the one that knows it.
   */
  public static BiFunction of(final org.apache.spark.sql.classic.SparkSession session) {
    if (session.sessionState().conf().contains(KEY) || hidesDatabase(session)) return null;
    SQLConf copy = session.sessionState().conf().clone();
    copy.setConfString(KEY, Procedures.class.getName());
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    Thread.currentThread().setContextClassLoader(Procedures.class.getClassLoader());
    try {
      Object found = SQLConf$.MODULE$.withExistingConf(copy, new scala.runtime.AbstractFunction0() {
        public Object apply() {
          return session.sessionState().catalogManager().catalog(NAME);
        }
      });
      return found.getClass().getName().equals(Procedures.class.getName()) ? (BiFunction) found : null; // of another Python's class loader, too
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  /** Spark takes the first part of a name for a catalog where there is one, also where it is a database of the current catalog. */
  private static boolean hidesDatabase(final org.apache.spark.sql.classic.SparkSession session) {
    final CatalogManager catalogs = session.sessionState().catalogManager();
    if (catalogs.listCatalogs(scala.Option.empty()).contains(NAME)) return false; // it is there already
    Object is = SQLConf$.MODULE$.withExistingConf(session.sessionState().conf(), new scala.runtime.AbstractFunction0() {
      public Object apply() {
        try {
          CatalogPlugin current = catalogs.currentCatalog();
          return Boolean.valueOf(current instanceof SupportsNamespaces && ((SupportsNamespaces) current).namespaceExists(new String[] {NAME}));
        } catch (Exception unknown) {
          return Boolean.FALSE; // nor will a query find it
        }
      }
    });
    return ((Boolean) is).booleanValue();
  }

  public void initialize(String name, CaseInsensitiveStringMap options) {}

  public String name() {
    return NAME;
  }

  /** From now on there is a procedure; of `declared` its name, parameters, columns and what it does, a line each. Where `python` is null, there is none. */
  public synchronized Object apply(Object python, Object declared) {
    String[] lines = declared.toString().split("\n");
    if (python == null) procedures.remove(lines[0]);
    else procedures.put(lines[0], new Unbound(new Procedure((BiFunction) python, lines)));
    return null;
  }

  public synchronized Identifier[] listProcedures(String[] namespace) {
    Identifier[] found = new Identifier[namespace.length == 0 ? procedures.size() : 0];
    Iterator names = procedures.keySet().iterator();
    for (int i = 0; i < found.length; i++) found[i] = identifier((String) names.next());
    return found;
  }

  /** Janino calls no static method of an interface. */
  private static Identifier identifier(final String name) {
    return new Identifier() {
      public String[] namespace() {
        return new String[0];
      }

      public String name() {
        return name;
      }
    };
  }

  public synchronized UnboundProcedure loadProcedure(Identifier asked) {
    Object found = asked.namespace().length == 0 ? procedures.get(asked.name().toLowerCase(java.util.Locale.ROOT)) : null;
    if (found != null) return (UnboundProcedure) found;
    String known = procedures.isEmpty() ? "data-skip is disabled in this session: data_skip.enable(spark)" : "these are: " + procedures.keySet();
    throw Statement.refused(NAME + "." + asked.name(), "there is no such procedure; " + known);
  }

  /** What may be left out is NULL then. */
  public static final class Parameter implements ProcedureParameter {
    private final StructField field;

    public Parameter(StructField field) {
      this.field = field;
    }

    public ProcedureParameter.Mode mode() {
      return ProcedureParameter.Mode.IN;
    }

    public String name() {
      return field.name();
    }

    public DataType dataType() {
      return field.dataType();
    }

    public DefaultValue defaultValue() {
      return field.nullable() ? new DefaultValue("NULL") : null;
    }

    public String comment() {
      return null;
    }
  }

  /** A procedure before its arguments are known; whatever they are, it has one signature. Spark tells the two by their classes. */
  public static final class Unbound implements UnboundProcedure {
    private final Procedure procedure;

    Unbound(Procedure procedure) {
      this.procedure = procedure;
    }

    public String name() {
      return procedure.name();
    }

    public String description() {
      return procedure.description();
    }

    public BoundProcedure bind(StructType arguments) {
      return procedure;
    }
  }

  /** One procedure. */
  public static final class Procedure implements BoundProcedure {
    private final BiFunction python;
    private final String name;
    private final StructType takes;
    private final StructType columns;
    private final String description;

    Procedure(BiFunction python, String[] declared) {
      this.python = python;
      this.name = declared[0];
      this.takes = (StructType) DataType$.MODULE$.fromJson(declared[1]);
      this.columns = (StructType) DataType$.MODULE$.fromJson(declared[2]);
      this.description = declared[3];
    }

    public String name() {
      return name;
    }

    public String description() {
      return description;
    }

    public boolean isDeterministic() {
      return false;
    }

    public ProcedureParameter[] parameters() {
      ProcedureParameter[] result = new ProcedureParameter[takes.length()];
      for (int i = 0; i < result.length; i++) {
        result[i] = new Parameter(takes.fields()[i]);
      }
      return result;
    }

    public Iterator call(InternalRow input) {
      Map arguments = new LinkedHashMap();
      for (int i = 0; i < takes.length(); i++) {
        StructField parameter = takes.fields()[i];
        Object value = Arguments.json(input.get(i, parameter.dataType()), parameter.dataType());
        if (value == null && !parameter.nullable()) throw Statement.refused(NAME + "." + name, parameter.name() + " is NULL; it has to be given");
        arguments.put(parameter.name(), value);
      }
      return Collections.singletonList(new AnswerTable.Answer(new Statement(python, NAME + "." + name, arguments), columns)).iterator();
    }
  }
}
