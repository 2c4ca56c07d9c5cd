/** What the names of pins begin with, and of the tables that are made beside them: whoever made them makes them anew where they are gone. */
export const pinPrefix = 'p_'
