package dragoman;

/** A query's later round asks for a snapshot that is there no longer: it begins anew. */
public final class LeaseExpired extends RuntimeException {
  private static final long serialVersionUID = 1;

  LeaseExpired() {
    super("the snapshot is there no longer");
  }
}
